/** A secret that is hidden until the user shows it. It can be copied either way. */
import { useState } from 'react';
import { CopyId } from './copy-id.js';

export interface SecretProps {
  readonly value: string;
  /** Kind of secret, such as `token`. */
  readonly valueName: string;
}

export function Secret({ value, valueName }: SecretProps) {
  const [shown, setShown] = useState(false);
  return (
    <span className="line secret">
      <CopyId value={value} valueName={valueName}>
        {shown ? value : '•'.repeat(24)}
      </CopyId>
      <button
        type="button"
        className="button button-quiet button-small"
        aria-pressed={shown}
        aria-label={`Show ${valueName}`}
        onClick={() => setShown(!shown)}
      >
        {shown ? 'Hide' : 'Show'}
      </button>
    </span>
  );
}
