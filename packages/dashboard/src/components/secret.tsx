/** Something that not everybody who looks over a shoulder is to see: hidden until it is asked for, and copied either way. */
import { useState } from 'react';
import { CopyId } from './copy-id.js';

export interface SecretProps {
  readonly value: string;
  /** What it is: `token`. */
  readonly what: string;
}

export function Secret({ value, what }: SecretProps) {
  const [shown, setShown] = useState(false);
  return (
    <span className="line secret">
      <CopyId value={value} what={what}>
        {shown ? value : '•'.repeat(24)}
      </CopyId>
      <button
        type="button"
        className="button button-quiet button-small"
        aria-pressed={shown}
        aria-label={`Show the ${what}`}
        onClick={() => setShown(!shown)}
      >
        {shown ? 'Hide' : 'Show'}
      </button>
    </span>
  );
}
