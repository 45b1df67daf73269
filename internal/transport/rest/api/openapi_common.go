package api

// paging lists the headers of a page of a list, with what they say.
var paging = []struct{ name, kind, doc string }{
	{"Link", "string", "Links to the first, previous, next and last page; only to the next with pagination=keyset"},
	{"X-Page", "integer", "This page, from 1"},
	{"X-Per-Page", "integer", "Items per page"},
	{"X-Next-Page", "string", "Next page; empty on the last"},
	{"X-Prev-Page", "string", "Previous page; empty on the first"},
	{"X-Total", "integer", "Number of items; absent above 10,000"},
	{"X-Total-Pages", "integer", "Number of pages; absent where X-Total is"},
	{"X-Next-Cursor", "string", "cursor of the next page, with pagination=keyset"},
	{"X-Prev-Cursor", "string", "cursor of the previous page, with pagination=keyset"},
}

// headers are the headers that answers refer to.
func headers() dict {
	out := dict{}
	for _, h := range paging {
		out[h.name] = dict{"description": h.doc, "schema": dict{"type": h.kind}}
	}
	return out
}

func pagingHeaders() dict {
	out := dict{}
	for _, h := range paging {
		out[h.name] = dict{"$ref": "#/components/headers/" + h.name}
	}
	return out
}

// errorResponse is the answer to whatever is refused. The product refuses with message, the
// layer of parameters, tokens and scopes with error.
func errorResponse() dict {
	messages := dict{"anyOf": []any{
		dict{"type": "string"},
		dict{"type": "array", "items": dict{"type": "string"}},
		dict{
			"type": "object", "description": "Attributes with what is wrong with each",
			"additionalProperties": true,
		},
	}}
	return dict{
		"description": "Error",
		"content": dict{"application/json": dict{"schema": dict{
			"type": "object",
			"properties": dict{
				"message":           messages,
				"error":             dict{"type": "string", "description": "What is wrong with the parameters, the token or its scopes"},
				"error_description": dict{"type": "string"},
				"scope":             dict{"type": "string", "description": "The token needs one of these scopes"},
			},
			"additionalProperties": true,
		}}},
	}
}
