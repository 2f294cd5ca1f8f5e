/** An id, URL or other value with a copy button. A long value is clipped on screen but copied completely. */
import { CopyButton } from './copy/copy-button.js';

export interface CopyIdProps {
  readonly value: string;
  /** Kind of value, used in the button's label: `Copy run id`. */
  readonly valueName?: string;
  /** Shown instead of the value. */
  readonly children?: React.ReactNode;
}

export function CopyId({ value, valueName = 'id', children }: CopyIdProps) {
  return (
    <span className="copy">
      <span className="mono clip" title={value}>
        {children ?? value}
      </span>
      <CopyButton value={value} valueName={valueName} />
    </span>
  );
}
