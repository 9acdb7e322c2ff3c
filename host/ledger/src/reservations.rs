//! Single-use ids: each is one operation's, until that gives it back.

use chio_host_kernel::ledger::Refused;
use chio_host_kernel::operation::OperationId;
use chio_host_kernel::reservation::RuntimeReservation;

use crate::rows::Rows;

pub(crate) fn take<R: Rows>(rows: &mut R, reservation: &RuntimeReservation, by: &OperationId) -> Result<(), R::Error> {
    match rows.reservation(reservation)? {
        Some(by) => Err(Refused::Reserved { reservation: reservation.clone(), by }.into()),
        None => rows.put_reservation(reservation, by),
    }
}

pub(crate) fn release<R: Rows>(
    rows: &mut R,
    reservation: &RuntimeReservation,
    by: &OperationId,
) -> Result<(), R::Error> {
    match rows.reservation(reservation)? {
        Some(owner) if owner == *by => rows.remove_reservation(reservation),
        Some(by) => Err(Refused::Reserved { reservation: reservation.clone(), by }.into()),
        None => Err(Refused::NotReserved(reservation.clone()).into()),
    }
}
