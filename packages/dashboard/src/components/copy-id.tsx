/** An id, a URL or anything else that is copied: shortened where there is little room, whole when it is copied. */
import { use, useState } from 'react';
import { Icon } from './icons.js';
import { InTable } from './in-table.js';
import { announce } from './toasts.js';

export interface CopyIdProps {
  readonly value: string;
  /** What it is, for the name of the button: `Copy run id`. */
  readonly what?: string;
  /** Shown instead of the value. */
  readonly children?: React.ReactNode;
}

const SHOWN_MS = 1_500;

export function CopyId({ value, what = 'id', children }: CopyIdProps) {
  const [copied, setCopied] = useState(false);
  const inTable = use(InTable);
  const copy = async (event: React.MouseEvent) => {
    event.stopPropagation();
    const done = await navigator.clipboard.writeText(value).then(
      () => true,
      () => false,
    );
    announce(done ? `Copied the ${what}` : `The ${what} could not be copied`);
    if (!done) return;
    setCopied(true);
    window.setTimeout(() => setCopied(false), SHOWN_MS);
  };
  return (
    <span className="copy">
      <span className="mono clip" title={value}>
        {children ?? value}
      </span>
      <button type="button" className="copy-button" aria-label={`Copy ${what}`} onClick={copy} tabIndex={inTable ? -1 : 0}>
        <Icon name={copied ? 'check' : 'copy'} />
      </button>
    </span>
  );
}
