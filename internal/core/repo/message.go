package repo

import "unicode/utf8"

// MaxMessage bounds the message of a commit that a template makes, in bytes: a template may quote a long text many times.
const MaxMessage = 1 << 20

// CutMessage shortens a message to MaxMessage bytes, at the beginning of a character.
func CutMessage(message string) string {
	if len(message) <= MaxMessage {
		return message
	}
	end := MaxMessage
	for end > MaxMessage-utf8.UTFMax && !utf8.RuneStart(message[end]) {
		end--
	}
	return message[:end]
}
