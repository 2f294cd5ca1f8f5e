/** The queue instance: who owns it, what opens it, what it may use and has used, and how long it keeps what has ended. */
import { useState } from 'react';
import type { QueueRecord } from '../../../../everstep/src/contract/management.js';
import { path } from '../../api/client.js';
import { useMay, useQueueId } from '../../api/instances.js';
import { useApi } from '../../api/queries.js';
import { useSession } from '../../api/session.js';
import { Card } from '../../components/card.js';
import { CopyId } from '../../components/copy-id.js';
import { DeedButton } from '../../components/deed-button.js';
import { Facts, type FactsProps } from '../../components/facts.js';
import { bytesText, countText, durationText } from '../../components/formats.js';
import { PageTitle } from '../../components/page-title.js';
import { ErrorState, Skeleton } from '../../components/states.js';
import { TimeText } from '../../components/time-text.js';
import { Keys, Tokens } from './access.js';
import { Budget } from './budget.js';
import { dollarText } from './day-chart.js';
import { DeleteDialog } from './delete-instance.js';
import { NamedTokens } from './named-tokens.js';
import { CreateDialog, MoveDialog, PlanDialog } from './owner.js';
import { SettingsCard } from './settings.js';
import './instance.css';

const NO_LIMIT = 'no limit';
const limit = (value: number | null, text: (value: number) => string): string => (value === null ? NO_LIMIT : text(value));

const planFacts = ({ limits }: QueueRecord): FactsProps['facts'] => [
  ['Largest message', limit(limits.max_message_bytes, bytesText)],
  ['In flight at once', limit(limits.max_parallelism, countText)],
  ['Schedules', limit(limits.max_schedules, countText)],
  ['Runs started a day', limit(limits.max_requests_per_day, countText)],
  ['Stored by the account', limit(limits.max_stored_bytes, bytesText)],
  ['Active runs of the account', limit(limits.max_active_runs, countText)],
  ['API calls a second', limit(limits.api_calls_per_second, countText)],
  ['Max delivery timeout', limit(limits.max_timeout_ms, durationText)],
  ['Logs kept', limit(limits.log_retention_ms, durationText)],
  ['Dead letters kept', limit(limits.dead_letter_retention_ms, durationText)],
  ['100,000 messages', dollarText(limits.price_per_100k_messages)],
];

type Asked = 'create' | 'move' | 'plan' | 'delete';

export default function InstancePage() {
  const queueId = useQueueId();
  const { administer } = useMay();
  const { is_operator: operator } = useSession();
  const [asked, setAsked] = useState<Asked | null>(null);
  const close = () => setAsked(null);
  const { data, error, isPending, refetch } = useApi<QueueRecord>({
    topic: 'account',
    name: 'instance',
    url: path`/v2/queue/user/${queueId}`,
  });
  if (isPending || !data)
    return (
      <>
        <PageTitle title="Instance" />
        {error && !isPending ? (
          <ErrorState failure={error} onRetry={() => void refetch()} what="The instance" />
        ) : (
          <Skeleton lines={10} />
        )}
      </>
    );
  const id = <CopyId value={data.id} what="instance id" />;
  const owner = <CopyId value={data.customer_id} what="account id" />;
  const created = <TimeText unixMs={data.creation_time * 1000} />;
  return (
    <>
      <PageTitle
        title="Instance"
        actions={
          <button type="button" className="button" onClick={() => setAsked('create')}>
            New instance
          </button>
        }
      />
      <div className="instance-cards">
        <Card
          title={data.name}
          actions={
            <>
              <DeedButton
                small
                off={administer ? undefined : 'Only owners and admins move an instance'}
                onClick={() => setAsked('move')}
              >
                Move to a team
              </DeedButton>
              <DeedButton
                look="danger"
                small
                off={administer ? undefined : 'Only owners and admins delete an instance'}
                onClick={() => setAsked('delete')}
              >
                Delete
              </DeedButton>
            </>
          }
        >
          <Facts
            facts={[
              ['Id', id],
              ['Owner account', owner],
              ['Your role', data.role],
              ['Region', data.region],
              ['Created', created],
            ]}
          />
        </Card>
        <Card
          title={`Plan: ${data.plan}`}
          actions={
            <DeedButton
              small
              off={operator ? undefined : 'Only the operator of this installation sets plans'}
              aria-label="Change the plan"
              onClick={() => setAsked('plan')}
            >
              Change
            </DeedButton>
          }
        >
          <Facts facts={planFacts(data)} />
        </Card>
        <Tokens instance={data} />
        <Keys />
        <div className="instance-wide">
          <NamedTokens />
        </div>
        <div className="instance-wide">
          <Budget instance={data} />
        </div>
        <div className="instance-wide">
          <SettingsCard />
        </div>
      </div>
      {asked === 'create' ? <CreateDialog region={data.region} onClose={close} /> : null}
      {asked === 'move' ? <MoveDialog instance={data} onClose={close} /> : null}
      {asked === 'delete' ? <DeleteDialog instance={data} onClose={close} /> : null}
      {asked === 'plan' ? <PlanDialog instance={data} onClose={close} /> : null}
    </>
  );
}
