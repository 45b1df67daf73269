package label

import "tenon/internal/core/noteable"

// ForLetter are labels as mails have them.
func ForLetter(labels []Label) []noteable.Labeled {
	out := make([]noteable.Labeled, len(labels))
	for i := range labels {
		out[i] = noteable.Labeled{ID: int64(labels[i].ID), Title: labels[i].Title}
	}
	return out
}
