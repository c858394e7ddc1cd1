"""Looking at an installation: what is read (sight.py), what must hold (objects, certificates, running, trial, removal), what is said."""
