package audit

import (
	"context"
	"fmt"

	"tenon/internal/core/upload"
)

// UploadDeleted records that a file attached to texts is gone.
func (r *Recorder) UploadDeleted(ctx context.Context, e upload.Deleted) error {
	out := at(e.Place)
	out.By, out.TargetType, out.TargetID, out.Event = e.By, "Upload", int64(e.UploadID), "upload_deleted"
	out.Message = fmt.Sprintf("Deleted the uploaded file %s", e.Name)
	return r.Record(ctx, out)
}
