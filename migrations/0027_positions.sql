-- Positions of notes on diffs follow the versions of their merge request.
ALTER TABLE notes ADD COLUMN original_position {{text}}; -- where the note was made; null where position is that still
ALTER TABLE notes ADD COLUMN change_position {{text}};   -- what a later version did to the line; null where it did nothing
