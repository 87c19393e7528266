"""What hotlap claims about speed, as commands that print it."""
