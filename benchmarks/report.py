"""The page of a benchmark: one bar chart for each number of threads, and the table behind it."""
import html

COLOURS = {"tenon": "#1b6ca8", "onnxruntime": "#d97706", "openvino": "#6b7280",
           "torch": "#b91c1c", "torch_compile": "#7c3aed"}


def chart(results):
    """Horizontal bars: each engine's latency over the best peer's, so that 1 is the line to beat."""
    engines = [e for e in COLOURS if any(e in r["latency_ms"] for r in results)]
    bar, gap, left, width = 11, 14, 230, 640
    rows, y = [], 24
    for r in results:
        peers = [v for e, v in r["latency_ms"].items() if e != "tenon"]
        base = min(peers) if peers else max(r["latency_ms"].values(), default=1)
        rows.append(f'<text x="{left - 8}" y="{y + bar * len(engines) / 2 + 4}" '
                    f'text-anchor="end">{html.escape(r["model"])}</text>')
        for e in engines:
            if e in r["latency_ms"]:
                ratio = r["latency_ms"][e] / base
                length = min(ratio, 3) / 3 * width
                rows.append(f'<rect x="{left}" y="{y}" width="{length:.1f}" height="{bar - 2}" '
                            f'fill="{COLOURS[e]}"><title>{e}: {r["latency_ms"][e]:.2f} ms</title>'
                            f'</rect><text x="{left + length + 4:.1f}" y="{y + bar - 3}" '
                            f'class="n">{ratio:.2f}</text>')
            y += bar
        y += gap
    line = left + width / 3
    legend = "".join(f'<tspan fill="{COLOURS[e]}" dx="12">■ {e}</tspan>' for e in engines)
    return (f'<svg width="{left + width + 60}" height="{y}"><text x="{left}" y="14">{legend}</text>'
            f'<line x1="{line}" y1="20" x2="{line}" y2="{y}" stroke="#999" stroke-dasharray="3"/>'
            + "".join(rows) + "</svg>")


def table(results):
    engines = [e for e in COLOURS if any(e in r["latency_ms"] for r in results)]
    head = "".join(f"<th>{e}, ms</th>" for e in engines)
    body = ""
    for r in results:
        cells = "".join(
            f'<td>{r["latency_ms"][e]:.2f}</td>' if e in r["latency_ms"] else "<td>-</td>"
            for e in engines)
        ratio = f'{r["ratio"]:.3f} to {r["best_peer"]}' if "ratio" in r else "-"
        body += (f'<tr><td>{html.escape(r["model"])}</td>{cells}<td>{ratio}</td>'
                 f'<td>{r["load"][0]} - {r["load"][1]}</td></tr>')
    return (f"<table><tr><th>model</th>{head}<th>ratio, median of pairs</th><th>load</th></tr>"
            f"{body}</table>")


def page(answer):
    """The whole page as one string; it needs nothing else."""
    h = answer["host"]
    parts = ["<!doctype html><meta charset=utf-8><title>Inference latency</title><style>"
             "body{font:14px sans-serif;margin:2em;max-width:70em}text{font-size:12px}"
             ".n{font-size:10px;fill:#444}table{border-collapse:collapse}td,th{padding:2px 9px;"
             "border-bottom:1px solid #ddd;text-align:right}td:first-child{text-align:left}"
             "</style><h1>Inference latency, fp32, batch 1</h1>",
             f'<p>{html.escape(h["cpu"])}, {h["cores"]} cores, {", ".join(h["features"])}'
             f'{", masked to " + h["isa_mask"] if h["isa_mask"] else ""}; {answer["date"]}. Bars: '
             "latency over that of the best peer (shorter is faster, 1 is level).</p>"]
    for threads in sorted({r["threads"] for r in answer["results"]}):
        results = [r for r in answer["results"] if r["threads"] == threads]
        mean = answer.get("geomean", {}).get(str(threads))
        parts.append(f"<h2>{threads} thread{'s' if threads > 1 else ''}"
                     f"{f': geomean {mean:.3f}' if mean else ''}</h2>{chart(results)}{table(results)}")
    parts.append("<h2>Options</h2><ul>" + "".join(
        f"<li>{e}: {html.escape(o)}</li>" for e, o in answer["options"].items()) + "</ul>")
    return "".join(parts)
