"""Admin of interventions, and the bases of the pages of each kind's rows and dead letters."""

from work.admin import intervention
