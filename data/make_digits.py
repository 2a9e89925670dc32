"""Make digits.npy and digits-labels.npy from scikit-learn's copy of the UCI data set.

Usage:  python data/make_digits.py        (needs: pip install scikit-learn==1.9.1)
"""
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

here = Path(__file__).resolve().parent
digits = load_digits()
images = digits.images.astype(np.uint8)
if not (images == digits.images).all():
    raise SystemExit("the pixels are not whole numbers of 0 to 255")
np.save(here / "digits.npy", images)
np.save(here / "digits-labels.npy", digits.target.astype("<i8"))
