/** A secret that is hidden until the user shows it. It can be copied while it is hidden. */
import { useState } from 'react';
import { CopyId } from './copy-id.js';

export interface SecretProps {
  readonly value: string;
  /** Kind of secret, such as `token`. */
  readonly valueName: string;
}

export function Secret({ value, valueName }: SecretProps) {
  const [isShown, setIsShown] = useState(false);
  return (
    <span className="line secret">
      <CopyId value={value} valueName={valueName}>
        {isShown ? value : '•'.repeat(24)}
      </CopyId>
      <button
        type="button"
        className="button button-quiet button-small"
        aria-pressed={isShown}
        aria-label={`Show ${valueName}`}
        onClick={() => setIsShown(!isShown)}
      >
        {isShown ? 'Hide' : 'Show'}
      </button>
    </span>
  );
}
