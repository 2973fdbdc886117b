#!/usr/bin/env python3
"""Writes tables.zip: small Parquet and Arrow files of every kind that the readers take, and some that they refuse.

    pip install pyarrow && python3 make_tables.py

Every readable file holds the same 50 rows, so one set of expectations serves them all.
"""
import datetime
import io
import pathlib
import zipfile

import pyarrow as pa
import pyarrow.parquet as pq

rows = range(50)
table = pa.table({
    "i": pa.array([None if r % 7 == 3 else r * r - 100 for r in rows], pa.int64()),
    "j": pa.array([r - 25 for r in rows], pa.int32()),
    "f": pa.array([r / 4 for r in rows], pa.float32()),
    "d": pa.array([None if r == 10 else r * 1e-3 for r in rows], pa.float64()),
    "b": pa.array([r % 3 == 0 for r in rows], pa.bool_()),
    "s": pa.array([None if r % 11 == 5 else f"text {r % 4}" for r in rows], pa.string()),
    "t": pa.array([datetime.datetime(2001, 1, 1) + datetime.timedelta(hours=r * 31) for r in rows], pa.timestamp("us")),
    "day": pa.array([datetime.date(1969, 12, 30) + datetime.timedelta(days=r) for r in rows], pa.date32()),
})
variants = {
    "plain": dict(use_dictionary=False, compression="none"),
    "dictionary": dict(use_dictionary=True, compression="none"),
    "snappy": dict(compression="snappy"),
    "gzip": dict(compression="gzip"),
    "zstd": dict(compression="zstd"),
    "pages2": dict(data_page_version="2.0", compression="zstd", use_dictionary=True),
    "pages2plain": dict(data_page_version="2.0", compression="none", use_dictionary=False, column_encoding="PLAIN"),
    "groups": dict(row_group_size=13, compression="snappy", data_page_size=64),
}
arrows = {
    "file": (table, pa.ipc.new_file, {}),
    "stream": (table, pa.ipc.new_stream, {}),
    "zstd": (table, pa.ipc.new_file, dict(options=pa.ipc.IpcWriteOptions(compression="zstd"))),
    "batches": (table, pa.ipc.new_stream, dict(rows=13)),
    "dictionary": (table.set_column(5, "s", table["s"].dictionary_encode()), pa.ipc.new_file, {}),
}
refused_arrows = {
    "lz4": (table, pa.ipc.new_file, dict(options=pa.ipc.IpcWriteOptions(compression="lz4"))),
    "nested": (pa.table({"l": pa.array([[1], [2, 3]])}), pa.ipc.new_file, {}),
}
refused = {
    "brotli": (table, dict(compression="brotli")),
    "delta": (table.select(["j"]), dict(use_dictionary=False, column_encoding="DELTA_BINARY_PACKED")),
    "nested": (pa.table({"l": pa.array([[1], [2, 3]])}), {}),
}
with zipfile.ZipFile(pathlib.Path(__file__).with_name("tables.zip"), "w", zipfile.ZIP_DEFLATED) as out:
    for name, options in variants.items():
        buffer = io.BytesIO()
        pq.write_table(table, buffer, **options)
        out.writestr(zipfile.ZipInfo(f"ok-{name}.parquet"), buffer.getvalue())
    for name, (content, options) in refused.items():
        buffer = io.BytesIO()
        pq.write_table(content, buffer, **options)
        out.writestr(zipfile.ZipInfo(f"no-{name}.parquet"), buffer.getvalue())
    for prefix, group in (("ok", arrows), ("no", refused_arrows)):
        for name, (content, make, options) in group.items():
            buffer = io.BytesIO()
            rows = options.pop("rows", None)
            with make(buffer, content.schema, **options) as writer:
                writer.write_table(content, max_chunksize=rows)
            out.writestr(zipfile.ZipInfo(f"{prefix}-{name}.arrow"), buffer.getvalue())
