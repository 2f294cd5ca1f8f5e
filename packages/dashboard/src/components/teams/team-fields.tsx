/** Fields that select a team: the owner of something new, or a team that something is moved to. */
import type { TeamEntry } from '../../../../everstep/src/contract/management.js';
import { useApi } from '../../api/queries.js';
import { SelectField } from '../fields.js';

export interface TeamFieldProps {
  /** Id of the team; empty if none is selected. */
  readonly value: string;
  readonly onChange: (teamId: string) => void;
}

const useTeams = (): readonly TeamEntry[] =>
  useApi<readonly TeamEntry[]>({ topic: 'account', name: 'teams', url: '/v2/teams' }).data ?? [];

const optionsOf = (teams: readonly TeamEntry[], prefix = '') =>
  teams.map(({ id, name }) => (
    <option key={id} value={id}>
      {prefix}
      {name}
    </option>
  ));

/** The owner: the user's account, or a team. */
export function OwnerField(field: TeamFieldProps) {
  return (
    <SelectField label="Owner" {...field}>
      <option value="">Your personal account</option>
      {optionsOf(useTeams(), 'Team ')}
    </SelectField>
  );
}

/** A team other than the owner. */
export function OtherTeamField({ ownerId, ...field }: TeamFieldProps & { readonly ownerId: string }) {
  const otherTeams = useTeams().filter((team) => team.customer_id !== ownerId);
  return (
    <SelectField label="Team" {...field}>
      <option value="">{otherTeams.length === 0 ? 'You are not a member of another team' : 'Select a team'}</option>
      {optionsOf(otherTeams)}
    </SelectField>
  );
}
