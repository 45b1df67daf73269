package label

import "tenon/internal/core/noteable"

// ForMail are labels as mails have them.
func ForMail(labels []Label) []noteable.Labeled {
	out := make([]noteable.Labeled, len(labels))
	for i := range labels {
		out[i] = noteable.Labeled{ID: int64(labels[i].ID), Title: labels[i].Title}
	}
	return out
}
