/** A label that changes while it is looked at: as wide as the widest of those it may become, so that nothing beside it moves. */

export interface TakingTurnsProps {
  readonly now: string;
  /** All that it may say while it is looked at. */
  readonly among: readonly string[];
}

export function TakingTurns({ now, among }: TakingTurnsProps) {
  return (
    <span className="turns">
      <span>{now}</span>
      {among.map((label) => (
        // What is not visible is part of no name.
        <span key={label} className="turn-of-others" aria-hidden="true">
          {label}
        </span>
      ))}
    </span>
  );
}
