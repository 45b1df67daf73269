// Package browser drives the pages of a whole server with a real browser, scripts switched off.
package browser
