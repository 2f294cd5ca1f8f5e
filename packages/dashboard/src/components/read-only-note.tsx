import { usePermissions } from '../api/instances.js';

/** Explains to users with a read-only role why the buttons are disabled. Renders nothing for other users. */
export function ReadOnlyNote() {
  const { readOnlyReason } = usePermissions();
  return readOnlyReason === undefined ? null : <span className="muted">{readOnlyReason}.</span>;
}
