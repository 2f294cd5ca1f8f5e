import { useMay } from '../api/instances.js';

/** Why the buttons here are off, for who may only look; nothing for the others. */
export function ReadOnlyNote() {
  const { readOnly } = useMay();
  return readOnly === undefined ? null : <span className="muted">{readOnly}.</span>;
}
