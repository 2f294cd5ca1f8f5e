/** A place of a live page that keeps its height whatever comes into it, so that nothing below it moves. */
import type { ReactNode } from 'react';

export interface HeldProps {
  /** False: it is as high as what is in it. */
  readonly held: boolean;
  /** What it tells of, for those who do not see it. */
  readonly label: string;
  /** Gives it its height. */
  readonly className: string;
  readonly children: ReactNode;
}

export function Held({ held, label, className, children }: HeldProps) {
  if (!held) return children;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached with the keyboard
    <section className={`held ${className}`} aria-label={label} tabIndex={0}>
      {children}
    </section>
  );
}
