/** A part of a page with a heading of its own. */
import { type ReactNode, useId } from 'react';

export interface CardProps {
  readonly title: string;
  readonly children: ReactNode;
  /** Beside the heading. */
  readonly actions?: ReactNode;
  /** The contents reach the edge, such as those of a table. */
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
