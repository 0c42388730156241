"""Evidence packs: a reading with the rows it rests on, verifiable offline."""
