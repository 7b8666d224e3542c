"""What ReFrame sees of the questions of ``nearfar/question``: a class each, made there unless one of its own stands here."""
