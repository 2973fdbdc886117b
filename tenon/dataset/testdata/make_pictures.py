#!/usr/bin/env python3
"""Writes pictures.npz: small PNG and JPEG files as bytes, with the pixels that Pillow (or plain arithmetic) gives.

    pip install numpy pillow && python3 make_pictures.py

PNG files are put together by hand here, since Pillow writes neither interlaced ones nor every depth.
"""
import io
import pathlib
import struct
import zlib

import numpy as np
from PIL import Image

random = np.random.default_rng(1)
out = {}


def chunk(kind, body):
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def packed_rows(samples, depth):
    """samples[h, w, c] -> filter byte 0 and packed bits for each row."""
    rows = b""
    for row in samples:
        bits = "".join(format(int(v), f"0{depth}b") for v in row.reshape(-1))
        bits += "0" * (-len(bits) % 8)
        rows += b"\0" + int(bits, 2).to_bytes(len(bits) // 8, "big")
    return rows


def png(samples, depth, color, interlace=False, extra=b""):
    h, w, _ = samples.shape
    passes = [(0, 0, 1, 1)]
    if interlace:
        passes = [(0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2), (1, 0, 2, 1)]
    data = b""
    for y, x, dy, dx in passes:
        part = samples[y::dy, x::dx]
        if part.size:
            data += packed_rows(part, depth)
    head = struct.pack(">IIBBBBB", w, h, depth, color, 0, 0, int(interlace))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + extra + chunk(b"IDAT", zlib.compress(data)) + chunk(b"IEND", b""))


def add(name, data, pixels):
    out[f"{name}.file"] = np.frombuffer(data, np.uint8)
    out[f"{name}.pixels"] = np.asarray(pixels, np.uint8)


def png_cases():
    h, w = 11, 13
    channels = {0: 1, 2: 3, 4: 2, 6: 4}
    for color, n in channels.items():
        for depth in (1, 2, 4, 8, 16) if color == 0 else (8, 16):
            v = random.integers(0, 1 << depth, (h, w, n))
            # 16 bits scaled to 8: round(v * 255 / 65535)
            scaled = (v * 255 + 32895) >> 16 if depth == 16 else v * (255 // ((1 << depth) - 1))
            for interlace in (False, True):
                add(f"png{color}-{depth}{'i' * interlace}", png(v, depth, color, interlace), scaled)
    for depth in (1, 2, 4, 8):
        colors = random.integers(0, 256, (1 << depth, 3))
        v = random.integers(0, 1 << depth, (h, w, 1))
        table = chunk(b"PLTE", colors.astype(np.uint8).tobytes())
        add(f"png3-{depth}", png(v, depth, 3, True, table), colors[v[..., 0]])
        alpha = random.integers(0, 256, 2)
        full = np.concatenate([colors, np.full((1 << depth, 1), 255)], 1)
        full[:2, 3] = alpha
        add(f"png3-{depth}-alpha", png(v, depth, 3, False, table + chunk(b"tRNS", alpha.astype(np.uint8).tobytes())), full[v[..., 0]])
    v = random.integers(0, 4, (h, w, 1))
    add("png0-2-key", png(v, 2, 0, False, chunk(b"tRNS", struct.pack(">H", 1))), np.concatenate([v * 85, (v != 1) * 255], 2))


def photo(h, w):
    y, x = np.mgrid[0:h, 0:w]
    base = np.stack([128 + 100 * np.sin(x / 7), 128 + 90 * np.cos(y / 5), (x * 3 + y * 5) % 256], 2)
    return Image.fromarray(np.clip(base + random.normal(0, 12, base.shape), 0, 255).astype(np.uint8))


def jpeg(image, **options):
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", **options)
    return buffer.getvalue()


def jpeg_cases():
    image = photo(51, 75)
    for name, options in {"base": {}, "progressive": {"progressive": True}, "s422": {"subsampling": 1},
                          "s444": {"subsampling": 0, "quality": 95}}.items():
        data = jpeg(image, **options)
        add(f"jpeg-{name}", data, Image.open(io.BytesIO(data)))
    data = jpeg(image.convert("L"))
    add("jpeg-grey", data, np.asarray(Image.open(io.BytesIO(data)))[..., None])
    data = jpeg(image.convert("CMYK"))
    ink = np.asarray(Image.open(io.BytesIO(data))).astype(int)  # Pillow turns Adobe's inks round: 255 is full
    left = 255 - ink
    add("jpeg-cmyk", data, (left[..., :3] * left[..., 3:] + 127) // 255)


def resize_cases():
    image = photo(40, 56)
    out["resize.in"] = np.asarray(image)
    for name, how in {"area": Image.BILINEAR, "bicubic": Image.BICUBIC}.items():
        for w, h in ((33, 17), (56, 20), (31, 40), (97, 71), (7, 3)):
            out[f"resize.{name}.{w}x{h}"] = np.asarray(image.resize((w, h), how))
    out["grey.in"] = np.asarray(image)
    out["grey.out"] = np.asarray(image.convert("L"))[..., None]


png_cases()
jpeg_cases()
resize_cases()
np.savez_compressed(pathlib.Path(__file__).with_name("pictures.npz"), **out)
