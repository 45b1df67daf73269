// Package quickaction runs the commands in texts, such as "/close" on a line of its own.
package quickaction

import (
	"strings"

	"tenon/internal/base/markdown"
)

// Command is one of a text.
type Command struct {
	Name     string // in lower case, without the slash
	Argument string // "" for none
}

// maxCommands is how many commands of a text run; the lines of the others are taken out too.
const maxCommands = 100

// parse takes the lines of commands that are known out of a text: those that begin with a
// slash and stand in no code, HTML or quote.
func parse(text string, known func(name string) bool) (rest string, commands []Command) {
	if !strings.Contains(text, "/") {
		return text, nil
	}
	visible := markdown.Parse(text).Visible()
	var out strings.Builder
	found, quoted := false, false
	for at := 0; at < len(text); {
		end := strings.IndexByte(text[at:], '\n')
		if end < 0 {
			end = len(text)
		} else {
			end += at + 1
		}
		line, shown := text[at:end], visible[at:end]
		at = end
		if strings.TrimRight(shown, " \t\r\n") == ">>>" {
			quoted = !quoted
		}
		if name, argument, ok := command(line); ok && !quoted && shown[0] == '/' {
			if art, ok := drawings[name]; ok {
				found = true
				out.WriteString(strings.TrimSpace(argument+" "+art) + "\n")
				continue
			}
			if known(name) {
				found = true
				if len(commands) < maxCommands {
					commands = append(commands, Command{name, argument})
				}
				continue
			}
		}
		out.WriteString(line)
	}
	if !found {
		return text, nil
	}
	return strings.TrimRight(out.String(), " \t\r\n"), commands
}

// drawings are the commands that leave something in the text.
var drawings = map[string]string{
	"shrug":     "\u00af\\\\\uff3f(\u30c4)\uff3f/\u00af",
	"tableflip": "(\u256f\u00b0\u25a1\u00b0)\u256f\ufe35 \u253b\u2501\u253b",
}

// command reads a line.
func command(line string) (name, argument string, ok bool) {
	line = strings.TrimRight(line, " \t\r\n")
	if len(line) < 2 || line[0] != '/' {
		return "", "", false
	}
	name, argument, _ = strings.Cut(line[1:], " ")
	name = strings.ToLower(name)
	for _, c := range name {
		if c != '_' && (c < 'a' || c > 'z') {
			return "", "", false
		}
	}
	return name, strings.TrimSpace(argument), name != ""
}
