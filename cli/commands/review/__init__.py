"""The command `review`: answers one AdmissionReview or ConversionReview."""
