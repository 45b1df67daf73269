package kind

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"strings"
)

func matrix() *Kind {
	return &Kind{
		Slug: "matrix", Title: "Matrix notifications", Class: Chat, Since: "17.x",
		Does: sends, Send: sendMatrix,
		Settings: notifications(
			Setting{Name: "hostname", URL: true, Where: true, Doc: "URL of the Matrix server; https://matrix-client.matrix.org where blank"},
			token("token", "Access token of Matrix, such as syt-zyx57W2v1u123ew11"),
			Setting{Name: "room", Required: true, Chars: 255, Doc: "ID of the room, such as !qPKKM111FFKKsfoCVy:matrix.org"},
		),
		Events: chatEvents(incidents),
	}
}

// sendMatrix puts a message into the room. The same event has the same number, so that the server takes it once.
func sendMatrix(ctx context.Context, c Caller, v Values, e *Event) error {
	host := strings.TrimSuffix(cmp.Or(v.Text("hostname"), "https://matrix-client.matrix.org"), "/")
	digest := sha256.Sum256(e.Body)
	text := e.Message.Text.HTML()
	if len(e.Message.Lines) > 0 {
		text += "<br>" + strings.ReplaceAll(rendered(e.Message.Lines, Line.HTML), "\n", "<br>")
	}
	r := jsonTo(host+"/_matrix/client/v3/rooms/"+url.PathEscape(v.Text("room"))+"/send/m.room.message/"+hex.EncodeToString(digest[:16]), map[string]string{
		"msgtype": "m.text", "body": e.Message.Text.Plain(), "format": "org.matrix.custom.html", "formatted_body": text,
	})
	r.Method, r.Header["Authorization"] = "PUT", "Bearer "+v.Text("token")
	return deliver(ctx, c, r)
}
