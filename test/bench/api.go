package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
)

// api speaks to the server as one user. It is for filling, not for measuring.
type api struct {
	base  string
	token string
	http  *http.Client
}

func newAPI(url, token string) *api {
	return &api{base: url + "/api/v4", token: token, http: &http.Client{
		Transport: &http.Transport{MaxIdleConnsPerHost: 16},
	}}
}

// as returns the same connection pool with another user.
func (a *api) as(token string) *api { return &api{base: a.base, token: token, http: a.http} }

func (a *api) get(ctx context.Context, path string) ([]byte, error) {
	return a.send(ctx, http.MethodGet, path, nil)
}

// made is what the program reads of an answer.
type made struct {
	ID    int    `json:"id"`
	IID   int    `json:"iid"`
	Token string `json:"token"`
}

func (a *api) post(ctx context.Context, path string, in map[string]any) (made, error) {
	var out made
	text, err := a.send(ctx, http.MethodPost, path, in)
	if err != nil {
		return out, err
	}
	return out, json.Unmarshal(text, &out)
}

// user returns the user of the token.
func (a *api) user(ctx context.Context) (made, error) {
	var out made
	text, err := a.get(ctx, "/user")
	if err != nil {
		return out, err
	}
	return out, json.Unmarshal(text, &out)
}

func (a *api) send(ctx context.Context, method, path string, in map[string]any) ([]byte, error) {
	var body io.Reader
	if in != nil {
		text, err := json.Marshal(in)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, method, a.base+path, body)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Private-Token", a.token)
	req.Header.Set("Content-Type", "application/json")
	resp, err := a.http.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode >= 300 {
		return nil, fmt.Errorf("%s %s: %s: %s", method, path, resp.Status, text)
	}
	return text, nil
}

// request builds a whole request as the lean client sends it.
func request(url, token, method, path string, body []byte) []byte {
	out := fmt.Appendf(nil, "%s /api/v4%s HTTP/1.1\r\nHost: %s\r\nPrivate-Token: %s\r\n", method, path, strings.TrimPrefix(url, "http://"), token)
	if body != nil {
		out = fmt.Appendf(out, "Content-Type: application/json\r\nContent-Length: %d\r\n", len(body))
	}
	return append(append(out, "\r\n"...), body...)
}

// replay sends such a request once and returns the body of its answer.
func replay(ctx context.Context, url string, raw []byte, wants int) ([]byte, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if _, err := conn.Write(raw); err != nil {
		return nil, err
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != wants {
		line, _, _ := bytes.Cut(raw, []byte("\r\n"))
		err = fmt.Errorf("%s: %s: %s", line, resp.Status, body)
	}
	return body, err
}
