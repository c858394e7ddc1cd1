"""Speed, waiting times and memory as ratios to a bare server in one run (`make bench`); no test here can fail by the clock."""
