/** A section of a page with its own heading. */
import { type ReactNode, useId } from 'react';

export interface CardProps {
  readonly title: string;
  readonly children: ReactNode;
  /** Shown beside the heading. */
  readonly actions?: ReactNode;
  /** Whether the content fills the card to its edges, such as a table. */
  readonly flush?: boolean;
}

export function Card({ title, children, actions, flush = false }: CardProps) {
  const id = useId();
  return (
    <section className="card" aria-labelledby={id}>
      <div className="card-head">
        <h2 id={id}>{title}</h2>
        {actions === undefined ? null : <div className="line">{actions}</div>}
      </div>
      {flush ? children : <div className="card-body">{children}</div>}
    </section>
  );
}
