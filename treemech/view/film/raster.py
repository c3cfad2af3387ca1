"""Draw triangles into a picture: a depth buffer, smooth shading, no graphics card."""

from typing import Any

import numpy as np

from treemech.topology.arrays import Floats

_KERNEL: list[Any] = []


def paint(
    corners: Floats,
    normals: Floats,
    colours: Floats,
    alphas: Floats,
    key: Floats,
    up: Floats,
    picture: Floats,
    depth: Floats,
) -> None:
    """Draw triangles into a picture (h, w, 3) with its depths (h, w), in place.

    Parameters
    ----------
    corners : (n, 3, 4) pixels x, y, the inverse of the distance, and whether the corner is in front of the camera
    normals : (n, 3, 3) at the corners, towards the camera
    colours, alphas : (n, 3) from 0 to 1, (n,)
    key, up : directions of the light and of the sky
    """
    if not _KERNEL:
        _KERNEL.append(_compiled())
    _KERNEL[0](corners, normals, colours, alphas, key, up, picture, depth)


def _compiled() -> Any:
    from numba import njit

    return njit(cache=False, fastmath=True)(_paint)


def _paint(  # type: ignore[no-untyped-def]
    corners, normals, colours, alphas, key, up, picture, depth
):
    height, width = depth.shape
    for n in range(corners.shape[0]):
        if corners[n, 0, 3] < 0.5 or corners[n, 1, 3] < 0.5 or corners[n, 2, 3] < 0.5:
            continue
        ax, ay, bx, by, cx, cy = (
            corners[n, 0, 0], corners[n, 0, 1], corners[n, 1, 0], corners[n, 1, 1], corners[n, 2, 0], corners[n, 2, 1],
        )  # fmt: skip
        area = (bx - ax) * (cy - ay) - (by - ay) * (cx - ax)
        if abs(area) < 1e-9:
            continue
        left, right = max(0, int(min(ax, bx, cx))), min(width - 1, int(max(ax, bx, cx)) + 1)
        top, bottom = max(0, int(min(ay, by, cy))), min(height - 1, int(max(ay, by, cy)) + 1)
        alpha = alphas[n]
        for y in range(top, bottom + 1):
            py = y + 0.5
            for x in range(left, right + 1):
                px = x + 0.5
                u = ((bx - px) * (cy - py) - (by - py) * (cx - px)) / area
                v = ((cx - px) * (ay - py) - (cy - py) * (ax - px)) / area
                w = 1.0 - u - v
                if u < 0.0 or v < 0.0 or w < 0.0:
                    continue
                z = u * corners[n, 0, 2] + v * corners[n, 1, 2] + w * corners[n, 2, 2]
                if z <= depth[y, x]:
                    continue
                nx = u * normals[n, 0, 0] + v * normals[n, 1, 0] + w * normals[n, 2, 0]
                ny = u * normals[n, 0, 1] + v * normals[n, 1, 1] + w * normals[n, 2, 1]
                nz = u * normals[n, 0, 2] + v * normals[n, 1, 2] + w * normals[n, 2, 2]
                size = (nx * nx + ny * ny + nz * nz) ** 0.5 + 1e-12
                light = (nx * key[0] + ny * key[1] + nz * key[2]) / size
                sky = 0.5 + 0.5 * (nx * up[0] + ny * up[1] + nz * up[2]) / size
                shade = 0.2 + 0.28 * sky + 0.84 * max(light, 0.0)
                shine = 0.14 * max(light, 0.0) ** 40
                for k in range(3):
                    c = min(1.0, (colours[n, k] * colours[n, k] * shade + shine) ** 0.5)
                    picture[y, x, k] = alpha * c + (1.0 - alpha) * picture[y, x, k]
                if alpha > 0.99:
                    depth[y, x] = z


def flat_shadow(corners: Floats, mask: Floats) -> None:
    """Fill triangles (n, 3, 2) in pixels into a mask (h, w), in place."""
    n = len(corners)
    full = np.zeros((n, 3, 4))
    full[:, :, :2], full[:, :, 2], full[:, :, 3] = corners, 1.0, 1.0
    picture, depth = np.zeros((*mask.shape, 3)), np.zeros(mask.shape)
    one = np.zeros(3)
    paint(full, np.zeros((n, 3, 3)), np.ones((n, 3)), np.ones(n), one, one, picture, depth)
    mask[depth > 0.0] = 1.0
