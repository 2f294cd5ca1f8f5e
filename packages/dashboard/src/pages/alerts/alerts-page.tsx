/** Page of alerts: destinations, rules, lifecycle webhooks, and the alerts that the rules have opened. */
import { PageTitle } from '../../components/page-title.js';
import { AlertsList } from './alerts-list.js';
import { Destinations } from './destinations.js';
import { Rules } from './rules.js';
import { Webhooks } from './webhooks.js';
import './alerts.css';

export default function AlertsPage() {
  return (
    <>
      <PageTitle
        title="Alerts"
        lead="Rules notify you when something is wrong, and again when it is resolved. Lifecycle webhooks report when runs start and end."
      />
      <Rules />
      <Destinations />
      <Webhooks />
      <AlertsList />
    </>
  );
}
