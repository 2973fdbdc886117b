"""Writes formats.npz: small pictures in the rarer formats as bytes, with the pixels that Pillow gives.

    python make_formats.py            (needs numpy and Pillow with WebP, TIFF and JPEG 2000)
"""
import io
import pathlib

import numpy as np
from PIL import Image

out = {}
y, x = np.mgrid[0:19, 0:23]
color = np.stack([x * 11 % 256, y * 13 % 256, (x * y) % 256], 2).astype(np.uint8)
rgb, grey = Image.fromarray(color), Image.fromarray(color[..., 0])
rgba = Image.fromarray(np.dstack([color, (255 - x * 9 % 256).astype(np.uint8)]))


def add(name, image, kind, **options):
    """Keeps the file and what Pillow reads from it, palettes and single bits turned to channels."""
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    read = Image.open(io.BytesIO(buffer.getvalue()))
    if read.mode == "P" or kind == "BMP":
        read = read.convert("RGB")
    elif read.mode == "1":
        read = read.convert("L")
    pixels = np.asarray(read)
    out[f"{name}.file"] = np.frombuffer(buffer.getvalue(), np.uint8)
    out[f"{name}.pixels"] = pixels if pixels.ndim == 3 else pixels[..., None]


add("webp", rgb, "WEBP", quality=80)
add("webp-lossless", rgb, "WEBP", lossless=True)
add("webp-alpha", rgba, "WEBP", lossless=True, exact=True)
for compression in ("raw", "tiff_lzw", "tiff_adobe_deflate", "packbits"):
    add(f"tiff-{compression}", rgb, "TIFF", compression=compression)
add("tiff-grey", grey, "TIFF")
add("tiff-alpha", rgba, "TIFF")
add("jpeg2000", rgb, "JPEG2000")
add("jpeg2000-grey", grey, "JPEG2000")
add("jpeg2000-lossy", rgb, "JPEG2000", quality_mode="rates", quality_layers=[8])
add("jpeg2000-bare", rgb, "JPEG2000", no_jp2=True)
add("bmp24", rgb, "BMP")
add("bmp32", rgba, "BMP")
add("bmp8", rgb.quantize(40), "BMP")
add("bmp1", grey.convert("1"), "BMP")
add("ppm", rgb, "PPM")
add("pgm", grey, "PPM")
add("pbm", grey.convert("1"), "PPM")
np.savez_compressed(pathlib.Path(__file__).with_name("formats.npz"), **out)
