"""Hostile input: reviews and documents damaged at random, by the hundred thousand, and what must hold for the answer to each of them.

`make hostile` tries 200,000; an ordinary run of the tests tries fewer (settings.py). What is tried:

- reviews.py makes well-formed reviews: those recorded of the Go operator, and generated ones.
- mutants.py damages them as JSON (members gone, doubled, null, of another type, deep, huge, odd) and damage.py as bytes.
- judging.py says what must hold for an answer: a review with the right uid, or a 4xx; never an internal error.
- shapes.py makes objects that are large in one way, and test_growth.py asks every route about them: the cost may not grow faster than
  the size, and the answer is bounded.
- guided.py keeps inputs of the decoders that reach code which none before them reached, and damages those further.

One fixed example of each kind of damage stands in tests/webhooks; here is what nobody thought of.

What was run when this was written: 200,000 reviews in one process and 10,000 over TLS without a complaint. Found on the way and mended: a
create with anything but an object in oldObject was an internal error, and a v1beta1 graph without metadata was given a patch that could
not be applied.
"""
