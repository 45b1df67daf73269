package job

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"

	"github.com/riverqueue/river/rivertype"
)

// Sizes bound the arguments of jobs, in bytes of JSON.
type Sizes struct {
	Compress  bool // larger ones than Threshold are compressed; without it ones above Most are logged, and enqueued all the same
	Threshold int
	Most      int // as they are stored; 0 is no bound
}

// alwaysFits is what Most never refuses: the ids that most jobs have. No setting stops the whole server.
const alwaysFits = 1 << 10

// TooLarge is the error of Enqueue for arguments above the bound.
type TooLarge struct {
	Kind       string
	Size, Most int // bytes
}

// Error names the bound.
func (e *TooLarge) Error() string {
	return fmt.Sprintf("job of kind %s has %d bytes of arguments, and %d are allowed", e.Kind, e.Size, e.Most)
}

// packed are arguments that were compressed.
type packed struct {
	Gzip []byte `json:"tenon_gzip"`
}

// packedPrefix begins the JSON of packed arguments.
const packedPrefix = `{"tenon_gzip"`

// fit compresses the arguments of a job that is enqueued, or refuses them.
func (q *Queue) fit(ctx context.Context, p *rivertype.JobInsertParams) error {
	if q.config.Sizes == nil {
		return nil
	}
	bounds := q.config.Sizes()
	if bounds.Compress && len(p.EncodedArgs) > bounds.Threshold {
		small, err := pack(p.EncodedArgs)
		if err != nil {
			return err
		}
		if len(small) < len(p.EncodedArgs) {
			p.EncodedArgs = small
		}
	}
	size := len(p.EncodedArgs)
	if bounds.Most <= 0 || size <= max(bounds.Most, alwaysFits) {
		return nil
	}
	if !bounds.Compress {
		q.config.Logger.WarnContext(ctx, "job is large", slog.String("kind", p.Kind), slog.Int("bytes", size), slog.Int("limit", bounds.Most))
		return nil
	}
	return &TooLarge{Kind: p.Kind, Size: size, Most: bounds.Most}
}

func pack(args []byte) ([]byte, error) {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(args); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return json.Marshal(packed{b.Bytes()})
}

// unpack returns arguments as they were before they were compressed, if they were.
func unpack(args []byte) ([]byte, error) {
	if !bytes.HasPrefix(args, []byte(packedPrefix)) {
		return args, nil
	}
	var p packed
	if err := json.Unmarshal(args, &p); err != nil {
		return nil, fmt.Errorf("read compressed arguments: %w", err)
	}
	r, err := gzip.NewReader(bytes.NewReader(p.Gzip))
	if err != nil {
		return nil, fmt.Errorf("decompress arguments: %w", err)
	}
	out, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("decompress arguments: %w", err)
	}
	return out, nil
}
