/** A box on a live page whose height does not depend on its content, so that nothing below it moves. */
import type { ReactNode } from 'react';

export interface FixedHeightProps {
  /** Whether the height is fixed. If false, the content determines it. */
  readonly fixed: boolean;
  /** Accessible name of the box. */
  readonly label: string;
  /** CSS class that sets the height. */
  readonly className: string;
  readonly children: ReactNode;
}

export function FixedHeight({ fixed, label, className, children }: FixedHeightProps) {
  if (!fixed) return children;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable box must be reachable with the keyboard
    <section className={`fixed-height ${className}`} aria-label={label} tabIndex={0}>
      {children}
    </section>
  );
}
