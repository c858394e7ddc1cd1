"""Speed and memory as ratios to a bare server in one run (`make bench`); nothing here is a test that can fail by the clock."""
