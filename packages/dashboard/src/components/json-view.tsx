/** Shows a body: JSON is indented, anything else is shown as text. A long body is cut until the user expands it. */
import { useMemo, useState } from 'react';
import { CopyButton } from './copy/copy-button.js';
import { bytesText, prettyJson } from './times/formats.js';

export interface JsonViewProps {
  /** The body as it was sent or received. */
  readonly text: string;
  /** Accessible name, such as `Input of the run`. */
  readonly label: string;
}

const FOLDED_LENGTH = 4_000;

export function JsonView({ text, label }: JsonViewProps) {
  const [open, setOpen] = useState(false);
  const laidOut = useMemo(() => prettyJson(text), [text]);
  const long = laidOut.length > FOLDED_LENGTH;
  const shown = long && !open ? laidOut.slice(0, FOLDED_LENGTH) : laidOut;
  if (text === '') return <p className="muted">Empty</p>;
  return (
    <div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable box must be reachable with the keyboard */}
      <section className="json" tabIndex={0} aria-label={label}>
        <pre>
          {shown}
          {long && !open ? ' …' : null}
        </pre>
      </section>
      <div className="json-foot">
        <span>{bytesText(new TextEncoder().encode(text).length)}</span>
        <CopyButton value={text} what={label} text="Copy" />
        {long ? (
          <button type="button" className="button button-quiet button-small" aria-expanded={open} onClick={() => setOpen(!open)}>
            {open ? 'Show less' : `Show all ${bytesText(laidOut.length)}`}
          </button>
        ) : null}
      </div>
    </div>
  );
}
