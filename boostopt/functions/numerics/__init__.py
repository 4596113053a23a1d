"""Numerical methods that F and G share: roots, capped softmax, sums of sigmoids."""
