import { Migration } from '@mikro-orm/migrations';
import { TIME_ZONE_NAMES } from '../../base/time-zone-names.ts';

/**
 * Time zones in IANA's spelling. A version before took every name that ICU knows, in any case: its own abbreviations (`BST`, which is
 * Dhaka there) were probably not what the person meant, and become null, which is the default.
 */
export class Migration0023TimeZones extends Migration {
  override up(): void {
    const names = `string_to_array('${TIME_ZONE_NAMES.trim().replace(/\s+/g, ' ')}', ' ')`;
    this.addSql(`
      update profile f set timezone = n.name from unnest(${names}) as n (name)
       where lower(f.timezone collate "C") = lower(n.name collate "C") and f.timezone <> n.name`);
    this.addSql(`update profile set timezone = null where timezone is not null and timezone <> all(${names})`);
  }
}
