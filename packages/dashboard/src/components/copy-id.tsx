/** An id, URL or other value with a copy button. A long value is clipped on screen but copied completely. */
import { use, useState } from 'react';
import { Icon } from './icons.js';
import { InTable } from './tables/in-table.js';
import { announce } from './toasts.js';

export interface CopyIdProps {
  readonly value: string;
  /** Kind of value, used in the button's label: `Copy run id`. */
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
    announce(done ? `Copied ${what}` : `Couldn't copy ${what}`);
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
