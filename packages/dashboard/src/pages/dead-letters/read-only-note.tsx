/** Why the buttons are off. */
export function ReadOnlyNote() {
  return <span className="muted">Your role in this instance may look, but change nothing.</span>;
}
