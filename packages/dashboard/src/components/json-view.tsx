/** A body: JSON with line breaks, anything else as text. Of a long one the beginning, until the rest is asked for. */
import { useMemo, useState } from 'react';
import { bytesText, prettyJson } from './formats.js';
import { announce } from './toasts.js';

export interface JsonViewProps {
  /** Text as it travelled; JSON is laid out. */
  readonly text: string;
  /** What it is, for those who do not see it: `Input of the run`. */
  readonly label: string;
}

const FOLDED_LENGTH = 4_000;

export function JsonView({ text, label }: JsonViewProps) {
  const [open, setOpen] = useState(false);
  const laidOut = useMemo(() => prettyJson(text), [text]);
  const long = laidOut.length > FOLDED_LENGTH;
  const shown = long && !open ? laidOut.slice(0, FOLDED_LENGTH) : laidOut;
  const copy = async () => {
    const done = await navigator.clipboard.writeText(text).then(
      () => true,
      () => false,
    );
    announce(done ? 'Copied' : 'It could not be copied');
  };
  if (text === '') return <p className="muted">Empty.</p>;
  return (
    <div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached with the keyboard */}
      <section className="json" tabIndex={0} aria-label={label}>
        <pre>
          {shown}
          {long && !open ? ' …' : null}
        </pre>
      </section>
      <div className="json-foot">
        <span>{bytesText(new TextEncoder().encode(text).length)}</span>
        <button type="button" className="button button-quiet button-small" onClick={copy}>
          Copy
        </button>
        {long ? (
          <button type="button" className="button button-quiet button-small" aria-expanded={open} onClick={() => setOpen(!open)}>
            {open ? 'Show less' : `Show all ${bytesText(laidOut.length)}`}
          </button>
        ) : null}
      </div>
    </div>
  );
}
