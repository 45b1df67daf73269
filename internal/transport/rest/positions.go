package rest

import (
	"tenon/internal/core/note"
	"tenon/internal/core/noteable"
)

// diffParams place a note in a diff.
type diffParams struct {
	Position *positionParams `param:"position" doc:"Position in the diff of the merge request or commit"`
	CommitID string          `param:"commit_id" doc:"SHA of the commit of the merge request whose diff the position is in"`
}

// onDiff puts the position into the input of a note. What is no merge request or commit has none.
func (p diffParams) onDiff(kind noteable.Kind, in note.Input) note.Input {
	if kind != noteable.MergeRequest && kind != noteable.Commit {
		return in
	}
	in.Position = p.Position.position(kind)
	if kind == noteable.MergeRequest && p.CommitID != "undefined" {
		in.CommitID = p.CommitID
	}
	return in
}

// positionParams is a position as clients send it.
type positionParams struct {
	BaseSHA  string           `param:"base_sha,required" doc:"SHA of the base commit of the diff"`
	StartSHA string           `param:"start_sha,required" doc:"SHA of the start commit of the diff"`
	HeadSHA  string           `param:"head_sha,required" doc:"SHA of the head commit of the diff"`
	Type     string           `param:"position_type,required" values:"text,image,file" doc:"text, image or file"`
	OldPath  string           `param:"old_path" doc:"Path of the file before the change"`
	NewPath  string           `param:"new_path" doc:"Path of the file after the change"`
	OldLine  *int             `param:"old_line" doc:"Line number before the change; without new_line, a removed line"`
	NewLine  *int             `param:"new_line" doc:"Line number after the change; without old_line, an added line"`
	Range    *lineRangeParams `param:"line_range" doc:"First and last line of a multi-line note; merge requests only"`
	Width    *int             `param:"width" doc:"Width of the image"`
	Height   *int             `param:"height" doc:"Height of the image"`
	X        *float64         `param:"x" doc:"X coordinate in the image"`
	Y        *float64         `param:"y" doc:"Y coordinate in the image"`
}

type lineRangeParams struct {
	Start *rangeEndParams `param:"start" doc:"First line"`
	End   *rangeEndParams `param:"end" doc:"Last line"`
}

type rangeEndParams struct {
	LineCode string  `param:"line_code" doc:"Line code; derived from the lines where these are given"`
	Type     *string `param:"type" values:"new,old,expanded" doc:"new, old or expanded"`
	OldLine  *int    `param:"old_line" doc:"Line number before the change"`
	NewLine  *int    `param:"new_line" doc:"Line number after the change"`
}

// position returns nil where nothing is named, as in the answers for notes that are on no diff, which clients send back.
func (p *positionParams) position(kind noteable.Kind) *note.Position {
	if p == nil || *p == (positionParams{Type: p.Type}) {
		return nil
	}
	out := &note.Position{
		BaseSHA: p.BaseSHA, StartSHA: p.StartSHA, HeadSHA: p.HeadSHA, OldPath: p.OldPath, NewPath: p.NewPath, Type: note.PositionType(p.Type),
		OldLine: p.OldLine, NewLine: p.NewLine, Width: p.Width, Height: p.Height, X: p.X, Y: p.Y,
	}
	if p.Range != nil && p.Range.Start != nil && p.Range.End != nil && kind == noteable.MergeRequest {
		out.Range = &note.LineRange{Start: p.Range.Start.end(), End: p.Range.End.end()}
	}
	return out
}

func (p *rangeEndParams) end() note.RangeEnd {
	return note.RangeEnd{LineCode: p.LineCode, Type: p.Type, OldLine: p.OldLine, NewLine: p.NewLine}
}

// positionEntity is where in a diff a note is.
type positionEntity struct {
	BaseSHA  *string           `json:"base_sha"`
	StartSHA *string           `json:"start_sha"`
	HeadSHA  *string           `json:"head_sha"`
	OldPath  *string           `json:"old_path"`
	NewPath  *string           `json:"new_path"`
	Type     note.PositionType `json:"position_type"`
	*linePlace
	*imagePlace
}

// linePlace is what a position in a text says.
type linePlace struct {
	OldLine *int             `json:"old_line"`
	NewLine *int             `json:"new_line"`
	Range   *lineRangeEntity `json:"line_range"`
}

// imagePlace is what a position in an image says.
type imagePlace struct {
	Width  *int     `json:"width"`
	Height *int     `json:"height"`
	X      *float64 `json:"x"`
	Y      *float64 `json:"y"`
}

type lineRangeEntity struct {
	Start rangeEndEntity `json:"start"`
	End   rangeEndEntity `json:"end"`
}

type rangeEndEntity struct {
	LineCode string  `json:"line_code"`
	Type     *string `json:"type"`
	OldLine  *int    `json:"old_line"`
	NewLine  *int    `json:"new_line"`
}

// newPositionEntity returns nil for a note on nothing of a diff.
func newPositionEntity(p *note.Position) *positionEntity {
	if p == nil {
		return nil
	}
	e := &positionEntity{BaseSHA: &p.BaseSHA, StartSHA: &p.StartSHA, HeadSHA: &p.HeadSHA, OldPath: &p.OldPath, NewPath: &p.NewPath, Type: p.Type}
	switch p.Type {
	case note.TextPosition:
		e.linePlace = &linePlace{OldLine: p.OldLine, NewLine: p.NewLine}
		if r := p.Range; r != nil {
			e.Range = &lineRangeEntity{rangeEndEntity(r.Start), rangeEndEntity(r.End)}
		}
	case note.ImagePosition:
		e.imagePlace = &imagePlace{Width: p.Width, Height: p.Height, X: p.X, Y: p.Y}
	}
	return e
}
